import { fastmcpServers } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of fastmcpServers) describePair(pair)
