// A shop whose tool descriptions come from the file of its first argument, so that they can change between starts.
import { readFileSync } from 'node:fs'
import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

const words = z
  .object({ buy: z.string(), item: z.string() })
  .parse(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')))

const look = tool({
  description: 'Shows everything the shop has.',
  annotations: { readOnlyHint: true },
  run: async () => 'Maps, tents and lamps.',
})
const buy = tool({
  description: words.buy,
  input: z.object({ item: z.string().describe(words.item) }),
  run: async ({ item }) => `Bought: ${item}.`,
})
serveStdio(defineServer({ name: 'shop', version: '1.0.0', tools: { look, buy } }))
