/**
 * The paths of an installed agent, which the units of systemd/ name too. `install` creates them,
 * and launcher and commands read them. Pure.
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
 * Contains a folder for each role, made by systemd.
 * @public
 */
export const installedRuntime = "/run/autowithdraw";
