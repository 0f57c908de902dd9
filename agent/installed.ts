/**
 * The places of an installed agent, which the units of systemd/ name too. `install` makes them;
 * launcher and commands look there. Pure.
 */

/** @public */
export const installedConfig = "/etc/autowithdraw/config.json";
/** @public */
export const installedCredential = "/etc/autowithdraw/encKey.cred";
/**
 * The state folder.
 * @public
 */
export const installedState = "/var/lib/autowithdraw";
/**
 * Holds a folder for each role, made by systemd.
 * @public
 */
export const installedRuntime = "/run/autowithdraw";
