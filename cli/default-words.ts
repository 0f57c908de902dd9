/**
 * The defaults of options as they are in force here. The short command of an installed agent sets
 * them; without it they depend on the user and on the folder of the program.
 */

/** The description of `--state`. */
export function stateOptionWords(installed = process.env.AUTOWITHDRAW_STATE ?? ""): string {
  const usual = "$XDG_DATA_HOME/autowithdraw, else ~/.local/share/autowithdraw";
  return `state folder (default: ${installed === "" ? usual : installed})`;
}

/** The description of `--config`. `use` says for what, e.g. "configuration". */
export function configOptionWords(
  use: string,
  installed = process.env.AUTOWITHDRAW_CONFIG ?? "",
): string {
  return `${use} (default: ${installed === "" ? "config.json beside pair.js" : installed})`;
}
