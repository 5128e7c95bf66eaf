/** Something about a server that changed. */
export type Change =
  | { readonly type: 'tools' }
  | { readonly type: 'prompts' }
  | { readonly type: 'resources' }
  | { readonly type: 'resource'; readonly uri: string }
  /** A person finished at the URL they were asked to visit. */
  | { readonly type: 'elicitation'; readonly id: string }

/** One hub for changes: servers publish, sessions and `subscriptions/listen` streams watch. */
export interface Changes {
  /** Tells every watcher that wants it. */
  publish(change: Change): void
  /** Yields wanted changes until the signal aborts. Equal changes not yet read are told once, so a slow reader stays bounded. */
  watch(wants: (change: Change) => boolean, signal: AbortSignal): AsyncIterable<Change>
}
