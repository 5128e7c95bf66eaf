export { type RedisBackplane, redisBackplane } from './backplane.ts'
export type { RedisClient, RedisCluster, RedisCommandOptions, RedisConnection } from './client.ts'
export type { RedisBackplaneOptions, RedisBackplaneSettings } from './options.ts'
