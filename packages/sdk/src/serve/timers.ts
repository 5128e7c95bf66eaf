/** Lets the process end while the timer runs, where the runtime has processes. */
export function unref(timer: ReturnType<typeof setTimeout>): ReturnType<typeof setTimeout> {
  if (typeof timer === 'object') timer.unref()
  return timer
}
