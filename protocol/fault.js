/** @public */
export function refuse(code, detail) {
    return detail === undefined ? { ok: false, code } : { ok: false, code, detail };
}
/**
 * The world failed. `context` is safe to print: never a key, seed, mnemonic, passphrase or API
 * secret.
 * @public
 */
export class AgentError extends Error {
    code;
    effect;
    context;
    constructor(code, effect, message, context = {}, options) {
        super(message, options);
        this.name = "AgentError";
        this.code = code;
        this.effect = effect;
        this.context = context;
    }
}
/**
 * The same fault, its message beginning with the file or folder it is about; one that names it, and
 * anything else, as it is.
 * @public
 */
export function aboutFile(path, error) {
    if (!(error instanceof AgentError) || error.message.includes(path))
        return error;
    const { code, effect, message, context, cause } = error;
    return new AgentError(code, effect, `${path}: ${message}`, context, { cause });
}
/**
 * What `act` gives; a fault of it names the file or folder it is about.
 * @public
 */
export function namingFile(path, act) {
    try {
        return act();
    }
    catch (error) {
        throw aboutFile(path, error);
    }
}
/**
 * A bug: never caught in the middle, the process ends with status 70.
 * @public
 */
export class Bug extends Error {
    name = "Bug";
}
/**
 * Throws a Bug when `condition` is false.
 * @public
 */
export function invariant(condition, message) {
    if (!condition)
        throw new Bug(message);
}
/**
 * Why the system refused, in a word a person can look up: its code (ENOENT, EADDRINUSE) when it has
 * one, else what it says.
 * @public
 */
export function reasonOf(cause) {
    if (!(cause instanceof Error))
        return String(cause);
    const { code } = cause;
    return typeof code === "string" ? code : cause.message;
}
