/**
 * A character that does not show. `at` is its first byte in the text, `character` its place
 * counted in characters from 1.
 * @public
 */
export interface Invisible {
    readonly name: string;
    readonly at: number;
    readonly character: number;
}
/**
 * The first invisible character of a UTF-8 text, null without one. The space, the tab and the line
 * ends count as visible. Linear in the length.
 * @public
 */
export declare function findInvisible(bytes: Uint8Array): Invisible | null;
/**
 * Nothing for a configuration in which every character shows; such a character would make an
 * address or a name another one. `label` stands in front of the place, such as "config.json, ".
 * Bytes outside UTF-8 are left to the parser.
 * @throws AgentError CONFIG_INVISIBLE with line and column
 * @public
 */
export declare function assertVisible(text: Uint8Array, label: string): void;
/**
 * How many bytes a byte order mark takes in front of a text: 3 or 0. Windows editors write it;
 * RFC 8259 section 8.1 lets a reader pass over it.
 * @public
 */
export declare function markLength(bytes: Uint8Array): number;
/**
 * What is odd about a text that must be visible characters without any space: the first space,
 * line end or invisible character and its place, such as "a space at the end". "" when nothing is.
 * @public
 */
export declare function oddityOf(bytes: Uint8Array): string;
