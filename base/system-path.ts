/**
 * The folders in which the system's own programs are looked for. The PATH of our caller is not
 * safe: a program planted in front would get the secrets that `unshare` hands on, and the lock that
 * `flock` takes. The system looks for a started program in the PATH of the environment given to it.
 * Pure. Sources: execvp(3), file-hierarchy(7).
 */

/** Folders that only root may change; the last is NixOS's. */
export const systemPath = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/**
 * The complete environment for a program of the system, so no other variable of ours reaches it.
 */
export const systemEnvironment = { PATH: systemPath, LC_ALL: "C" } as const;
