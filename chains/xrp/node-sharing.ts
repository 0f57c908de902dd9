/** Shares answers that are on their way. Touches nothing itself. */

/** Callers with the same question share an answer that is on its way. */
export function createSharing(): <T>(key: string, job: () => Promise<T>) => Promise<T> {
  const underWay = new Map<string, Promise<unknown>>();
  return <T>(key: string, job: () => Promise<T>): Promise<T> => {
    const started = underWay.get(key) as Promise<T> | undefined;
    if (started !== undefined) return started;
    const promise = job().finally(() => underWay.delete(key));
    underWay.set(key, promise);
    return promise;
  };
}
