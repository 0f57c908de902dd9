/**
 * The paths of an installed agent, which the units of packaging/systemd/ name too. `install`
 * creates them, and launcher and commands read them. Pure.
 */

export const installedConfig = "/etc/autowithdraw/config.json";
export const installedCredential = "/etc/autowithdraw/encKey.cred";
/** The state folder. */
export const installedState = "/var/lib/autowithdraw";
/** Contains a folder for each role, made by systemd. */
export const installedRuntime = "/run/autowithdraw";
