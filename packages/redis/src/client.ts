/** How a reply is parsed. */
export interface RedisCommandOptions {
  /** How reply types are mapped to values; with an empty mapping replies are text. */
  readonly typeMapping?: object
  /** Milliseconds until the client rejects a command; undefined for no limit. */
  readonly timeout?: number | undefined
}

/** The methods of a client that the stores use. */
export interface RedisConnection {
  /** Resolves when commands can be sent. */
  connect(): Promise<unknown>
  /** Sends pending commands and disconnects. */
  close(): Promise<unknown>
  /** Disconnects immediately. */
  destroy(): unknown
  /** Adds a listener for `error` or `end`. */
  on(event: string, listener: (...args: unknown[]) => void): unknown
}

/** A client of one server, such as `createClient` of `@redis/client` or `redis` returns. */
export interface RedisClient extends RedisConnection {
  /** A new client with the same options, not connected. */
  duplicate(): RedisClient
  /** Sends a command and returns its reply. */
  sendCommand(args: readonly string[], options?: RedisCommandOptions): Promise<unknown>
  /** Subscribes to a channel. */
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  /** Unsubscribes from a channel. */
  unsubscribe(channel: string): Promise<unknown>
}

/** A client of a cluster, such as `createCluster` of `@redis/client` or `redis` returns. */
export interface RedisCluster extends RedisConnection {
  /** A new client with the same options, not connected. */
  duplicate(): RedisCluster
  /** Sends a command to the node of its key. */
  sendCommand(
    firstKey: string,
    isReadonly: boolean,
    args: string[],
    options?: RedisCommandOptions,
  ): Promise<unknown>
}

/** A connection that sends commands by their key. */
export interface CommandSender extends RedisConnection {
  send(key: string, args: string[]): Promise<unknown>
}
