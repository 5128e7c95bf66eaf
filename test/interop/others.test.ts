import { fastmcpServers, mcpLiteServers, referenceServers } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of [...referenceServers, ...mcpLiteServers, ...fastmcpServers]) describePair(pair)
