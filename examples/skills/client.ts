import { deepEqual, match, rejects } from 'node:assert/strict'
import { connect } from '@jackfield/sdk/client'
import { skillsClient } from '@jackfield/sdk/client/skills'
import { stdio } from '@jackfield/sdk/client/stdio'

const skills = skillsClient({ onInvalid: (why) => console.error(`Left out: ${why}`) })
const handbook = await connect(stdio({ command: 'node', args: ['examples/skills/server.ts'] }), {
  extensions: [skills],
})
const [notes, onCall] = await skills.list(handbook)
if (notes === undefined || onCall === undefined) throw new Error('The handbook has two skills')
deepEqual([notes.frontmatter.name, onCall.frontmatter.name], ['release-notes', 'on-call'])

// The files are only read here, and verified against the entry: digest, size and frontmatter.
const loaded = await skills.load(handbook, notes)
match(loaded.text, /templates\/notes\.md/)
const { text } = await loaded.read('templates/notes.md')
match(text ?? '', /What is new/)

// Generated content has no digest that a person could have approved, so loading it must be allowed explicitly.
await rejects(skills.load(handbook, onCall), { code: 'UNVERIFIED' })
const taken = await skills.load(handbook, onCall, { acceptUnverifiableContent: true })
match(taken.text, /the team of the week/)
await handbook.close()
console.log('One skill was verified file by file; the generated one was taken only on purpose.')
