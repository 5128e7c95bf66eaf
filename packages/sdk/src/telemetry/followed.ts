/** Whether a request is followed. A subscription is not: it stays open for as long as somebody listens. */
export function isFollowed(method: string): boolean {
  return method !== 'subscriptions/listen'
}
