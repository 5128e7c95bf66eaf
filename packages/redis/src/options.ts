import type { RedisClient, RedisCluster } from './client.ts'

/** Options of every backplane and task store. */
export interface RedisSettings {
  /** Prefix of every key and channel; deployments that share a Redis need different ones. Default `jackfield:`. */
  prefix?: string
  /** Milliseconds one command may take, including a reconnection. Connecting may take at least 5000. Default 5000. */
  timeoutMs?: number
  /** Called when Redis is lost and when it is back, and at the start if it may evict keys. Default `console.warn`. */
  onWarning?: (message: string) => void
}

/** The Redis of a backplane or a task store. */
export type RedisOptions = RedisSettings &
  (
    | {
        /** URL of the server: `redis://user:password@host:6379/0`, or `rediss://…` for TLS. */
        url: string
      }
    | {
        /** A client whose options are used, by `duplicate()`. It is not used itself and may be unconnected. */
        client: RedisClient
      }
    | {
        /** A cluster client whose options are used. */
        client: RedisCluster
        /** A client of any node of that cluster, for messages. */
        subscriber: RedisClient
      }
  )
