import { connect, http } from '@jackfield/sdk/client'
import { oauth } from '@jackfield/sdk/client/auth'
import { encryptedFiles, passphrase } from '@jackfield/sdk/client/auth/node'

// A program that makes 20 calls at once, with credentials from a store it shares with others, and never logs in.
const [url = '', directory = '', secret = ''] = process.argv.slice(2)

const auth = oauth({
  client: { name: 'test' },
  store: encryptedFiles({ directory, key: passphrase(secret) }),
  redirect: {
    begin: () => Promise.reject(new Error('This program must not log in')),
  },
})
// The saved token is loaded before all begin at once.
await auth.authorize({ method: 'POST', url: new URL(url) })
console.log('ready')
for await (const _ of process.stdin) break

await using client = await connect(http(url, { auth }), { revisions: ['2026-07-28'] })
const results = await Promise.all(Array.from({ length: 20 }, () => client.call('x')))
console.log(results.length)
