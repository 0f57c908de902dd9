/**
 * The first import of every program. SIGUSR1 would open the inspector on a port of this machine,
 * and a client of that port can run code here and read every secret. A listener for the signal
 * prevents this in every version of Node. Touches only the signals of this process. Source:
 * nodejs.org/api/process.html, "Signal events".
 */
process.on("SIGUSR1", () => {});
