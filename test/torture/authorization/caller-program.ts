import { connect, http } from '@jackfield/sdk/client'
import { oauth } from '@jackfield/sdk/client/auth'
import { encryptedFiles, keyFile } from '@jackfield/sdk/client/auth/node'

// Makes calls, ten at once, whenever it reads a line, with credentials it shares with others, and never logs in. It prints
// "ready" when it is connected, and how many calls came back after each line.
const [url = '', directory = '', key = '', calls = '1'] = process.argv.slice(2)

const auth = oauth({
  client: { name: 'test' },
  store: encryptedFiles({ directory, key: keyFile(key) }),
  redirect: { begin: () => Promise.reject(new Error('This program must not log in')) },
})
await using client = await connect(http(url, { auth }), { revisions: ['2026-07-28'], timeoutMs: 300_000 })
console.log('ready')
for await (const _ of process.stdin) {
  let made = 0
  while (made < Number(calls)) {
    const wave = Array.from({ length: Math.min(10, Number(calls) - made) }, () => client.call('x'))
    made += (await Promise.all(wave)).length
  }
  console.log(`done ${made}`)
}
