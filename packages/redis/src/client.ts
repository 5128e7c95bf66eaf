/** How a reply is read. */
export interface RedisCommandOptions {
  /** What becomes of each type of a reply; an empty one gives text. */
  readonly typeMapping?: object
}

/** What is used of every client. */
export interface RedisConnection {
  /** Settles when commands can be sent. */
  connect(): Promise<unknown>
  /** Sends what is under way and disconnects. */
  close(): Promise<unknown>
  /** Disconnects at once. */
  destroy(): unknown
  /** Listens for `error` and `end`. */
  on(event: string, listener: (...told: unknown[]) => void): unknown
}

/** What is used of a client of one server: `createClient` of `@redis/client` or `redis` gives such a value. */
export interface RedisClient extends RedisConnection {
  /** Another client with the same options, which is not connected. */
  duplicate(): RedisClient
  /** Sends a command and gives its reply. */
  sendCommand(args: readonly string[], options?: RedisCommandOptions): Promise<unknown>
  /** Listens to a channel. */
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  /** Listens no more. */
  unsubscribe(channel: string): Promise<unknown>
}

/** What is used of a client of a cluster: `createCluster` of `@redis/client` or `redis` gives such a value. */
export interface RedisCluster extends RedisConnection {
  /** Another client with the same options, which is not connected. */
  duplicate(): RedisCluster
  /** Sends a command to where its key is. */
  sendCommand(
    firstKey: string,
    isReadonly: boolean,
    args: string[],
    options?: RedisCommandOptions,
  ): Promise<unknown>
}

/** A connection that carries commands about one key each. */
export interface Carrier extends RedisConnection {
  send(key: string, args: string[]): Promise<unknown>
}
