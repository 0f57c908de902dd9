/**
 * Programs that a test starts print without colours, whatever the machine asks for: colours split
 * the sentences that tests look for.
 */
delete process.env.FORCE_COLOR;
delete process.env.CLICOLOR_FORCE;
process.env.NO_COLOR = "1";
