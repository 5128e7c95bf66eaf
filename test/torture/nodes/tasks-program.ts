import { appendFileSync } from 'node:fs'
import { serveTasks } from '@jackfield/sdk/extensions/tasks'
import { building, type StoreOf, storeOf } from './building.ts'

// A process that only runs tasks. It writes each step to a ledger, and prints a line when it works.

interface Input {
  store: StoreOf
  ledger: string
}

const { store, ledger }: Input = JSON.parse(process.argv[2] ?? '{}')
const { server } = building(await storeOf(store), { write: (line) => appendFileSync(ledger, `${line}\n`) })
const worker = serveTasks(server)
process.once('SIGTERM', async () => {
  await worker.close({ graceMs: 50 })
  process.exit()
})
process.stdout.write('working\n')
