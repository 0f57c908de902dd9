/** Answers on their way that several callers share. Pure but for the job that the caller passes. */

/**
 * Callers with the same key get one answer while it is on its way; the next question asks again.
 */
export function createAnswerSharing(): <T>(key: string, job: () => Promise<T>) => Promise<T> {
  const underWay = new Map<string, Promise<unknown>>();
  return <T>(key: string, job: () => Promise<T>): Promise<T> => {
    const started = underWay.get(key) as Promise<T> | undefined;
    if (started !== undefined) return started;
    const promise = job().finally(() => underWay.delete(key));
    underWay.set(key, promise);
    return promise;
  };
}
