/**
 * Goes on with what a function gives: at once, unless it gives a promise.
 * @param failed told what it throws, or its promise rejects with
 */
export function goOn<T>(
  begin: () => T | Promise<T>,
  done: (value: T) => void,
  failed: (error: unknown) => void,
): void {
  let begun: T | Promise<T>
  try {
    begun = begin()
  } catch (error) {
    failed(error)
    return
  }
  if (begun instanceof Promise) begun.then(done, failed)
  else done(begun)
}
