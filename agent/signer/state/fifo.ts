/**
 * First in, first out, with a constant average cost at any length; `Array.shift` would move all
 * items. Touches nothing.
 */

export class Fifo<T> {
  #items: T[];
  #first = 0;

  constructor(items: readonly T[] = []) {
    this.#items = [...items];
  }

  get size(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#first];
  }

  /** The item `index` positions behind the first. */
  at(index: number): T | undefined {
    return this.#items[this.#first + index];
  }

  shift(): T | undefined {
    const item = this.#items[this.#first];
    if (this.#first === this.#items.length) return undefined;
    this.#first += 1;
    if (this.#first > 1024 && this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }

  toArray(): T[] {
    return this.#items.slice(this.#first);
  }
}
