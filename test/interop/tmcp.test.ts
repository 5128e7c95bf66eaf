import { tmcpServers } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of tmcpServers) describePair(pair)
