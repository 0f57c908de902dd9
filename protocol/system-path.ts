/**
 * Where the system's own programs are looked for. The PATH of whoever starts us is no help: a
 * program planted ahead in it would get the secrets that `unshare` hands on, and the lock that
 * `flock` takes. A started program is looked for in its own environment's PATH. Pure. Sources:
 * execvp(3), file-hierarchy(7).
 */

/**
 * Folders that only root may change; the last is NixOS's.
 * @public
 */
export const systemPath = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/**
 * The whole environment for a program of the system, so that nothing else of ours reaches it
 * either.
 * @public
 */
export const systemEnvironment = { PATH: systemPath, LC_ALL: "C" } as const;
