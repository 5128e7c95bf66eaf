export { type RedisBackplane, redisBackplane } from './backplane.ts'
export type { RedisClient, RedisCluster, RedisCommandOptions, RedisConnection } from './client.ts'
export type { RedisOptions, RedisSettings } from './options.ts'
export { type RedisTaskStore, redisTaskStore } from './task-store.ts'
