import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createConversation, createHost, scriptModel } from '@jackfield/host'
import { isInstalled, PostgresServer } from '../../packages/postgres/test/support/postgres-server.ts'

// A conversation about two databases: orders in SQLite, customers in PostgreSQL if it is installed, otherwise in SQLite, too.
// The model is a script, so this runs without a network.

const customers = `
  CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
  INSERT INTO customers VALUES (1, 'Ada'), (2, 'Ben');
`
const orders = `
  CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, status TEXT NOT NULL, cents INTEGER NOT NULL);
  INSERT INTO orders VALUES (1, 1, 'open', 12000), (2, 2, 'open', 19000), (3, 2, 'open', 12000), (4, 1, 'paid', 90000);
`

const folder = await mkdtemp(join(tmpdir(), 'databases-'))
const postgres = isInstalled ? await PostgresServer.start() : undefined

function sqlite(name: string, script: string): string {
  const file = join(folder, name)
  const database = new DatabaseSync(file)
  database.exec(script)
  database.close()
  return file
}

try {
  const sales = sqlite('sales.db', orders)
  await postgres?.addShop()
  await postgres?.run('shop', `${customers} GRANT SELECT ON customers TO reader`)
  const crm = postgres?.url('shop', 'reader') ?? sqlite('crm.db', customers)

  const seen: string[] = []
  await using host = createHost({
    servers: {
      databases: {
        command: process.execPath,
        args: ['servers/database/dist/main.js', `sales=${sales}`, 'crm=env:CRM', '--allow-writes'],
        env: { CRM: crm },
      },
    },
    rules: [
      { id: 'read', verdict: 'allow', hint: 'readOnly' },
      { id: 'change', verdict: 'ask', tool: 'execute' },
    ],
    models: [],
    surface: {
      name: 'example',
      show: {
        approval: async () => ({ verdict: 'allow' }),
        // What the statement would change, which the server determines before it asks.
        elicitation: async ({ params: { message } }) => {
          seen.push(message)
          return { action: 'accept', content: { commit: true } }
        },
      },
    },
  })
  await host.start()
  const conversation = createConversation({ host, model: scriptModel('examples/databases/script.json') })

  const say = async (words: string): Promise<string> => {
    console.log(`You: ${words}`)
    const before = conversation.calls.length
    const { text } = await conversation.say(words)
    for (const call of conversation.calls.slice(before)) {
      equal(call.result?.isError ?? false, false)
      console.log(`  ${call.name} ${call.arguments['database']}: ${call.arguments['sql'] ?? ''}`)
    }
    console.log(`Model: ${text}`)
    return text
  }

  equal(await say('Who owes most?'), 'Ben owes most: 310.00 in open orders.')
  match(resultOf(2), /\| 2 \| 31000 \|/)
  match(resultOf(3), /\| 1 \| Ada \|\n\| 2 \| Ben \|/)
  await say('He paid. Mark his orders.')
  match(seen[0] ?? '', /UPDATE of 2 rows/)
  console.log(`The person saw:\n${(seen[0] ?? '').replace(/^/gm, '  ')}`)
  const database = new DatabaseSync(sales)
  deepEqual(
    { ...database.prepare("SELECT count(*) AS open FROM orders WHERE status = 'open'").get() },
    { open: 1 },
  )
  database.close()

  /** The text that the model received for the call with this index. */
  function resultOf(place: number): string {
    const blocks = conversation.calls[place]?.result?.content ?? []
    return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
  }
} finally {
  await postgres?.stop()
  await rm(folder, { recursive: true, force: true })
}
console.log(
  `Read two databases (${postgres === undefined ? 'both SQLite' : 'SQLite and PostgreSQL'}) and changed one.`,
)
