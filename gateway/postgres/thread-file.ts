/** The compiled file of the thread; a source tree has it in its build. */
import { fileURLToPath } from "node:url";

const compiled = "gateway/postgres/thread.js";

/** The folder of the build: this file is somewhere below it, or beside it as a source. */
const [before] = import.meta.url.split(/(?<=\/dist\/)(?=gateway\/)/);
const folder = before === import.meta.url ? new URL("../../dist/", import.meta.url) : before;

export const threadFile = fileURLToPath(new URL(compiled, folder));
