import { mcpLiteServers } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of mcpLiteServers) describePair(pair)
