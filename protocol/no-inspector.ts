/**
 * The first import of every program: SIGUSR1 would open the inspector on a port of this machine,
 * and whoever reaches that port runs code here and reads every secret. A listener for the signal
 * keeps Node from it in every version. Touches this process's signals alone. Source:
 * nodejs.org/api/process.html, "Signal events".
 */
process.on("SIGUSR1", () => {});
