/**
 * The file name of the keystore in the signer's folder. It stands apart from agent/keystore, so
 * that a room can name the file without importing any code that opens it.
 */

export const keystoreName = "keystore.json";
