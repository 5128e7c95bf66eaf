import type { RedisClient, RedisCluster } from './client.ts'

/** What a backplane's keys are called and how long it waits, wherever its Redis is. */
export interface RedisBackplaneSettings {
  /** What every key and channel begins with: servers that share a Redis and nothing else need different ones. Default `jackfield:`. */
  prefix?: string
  /** Milliseconds one command may take, a reconnection included; then it rejects. A connection may take 5000 to be made, at least. Default 5000. */
  timeoutMs?: number
  /** Called when Redis is lost and when it is back, and at the start where it may evict keys. Default `console.warn`. */
  onWarning?: (message: string) => void
}

/** Where a backplane's Redis is. */
export type RedisBackplaneOptions = RedisBackplaneSettings &
  (
    | {
        /** Address of the server, as `redis://user:password@host:6379/0` or `rediss://…` for TLS. */
        url: string
      }
    | {
        /**
         * A client whose options are to be used, connected or not. The backplane makes its own connections from it by
         * `duplicate()`, and leaves this one alone.
         */
        client: RedisClient
      }
    | {
        /** A client of a cluster whose options are to be used. */
        client: RedisCluster
        /** A client of any one server of that cluster, for messages between nodes. */
        subscriber: RedisClient
      }
  )
