/** A caller's callback, whose own failures are reported instead of breaking the connection. */
export function guarded<A extends unknown[]>(
  callback: (...args: A) => void,
  name: string,
  warn: (text: string) => void,
): (...args: A) => void {
  return (...args) => {
    try {
      callback(...args)
    } catch (error) {
      warn(`${name} threw: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
