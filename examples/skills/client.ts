import { connect } from '@jackfield/sdk/client'
import { skillsClient } from '@jackfield/sdk/client/skills'
import { stdio } from '@jackfield/sdk/client/stdio'

const skills = skillsClient({ onInvalid: (why) => console.error(`Left out: ${why}`) })
await using handbook = await connect(stdio({ command: 'node', args: ['examples/skills/server.ts'] }), {
  extensions: [skills],
})
const listed = await skills.list(handbook)
for (const { uri, frontmatter } of listed) console.log(uri, '-', frontmatter.description)

const notes = listed.find(({ frontmatter }) => frontmatter.name === 'release-notes')
if (notes !== undefined) {
  // Everything is checked against the entry: digest, size and frontmatter. What comes is still a server's text.
  const loaded = await skills.load(handbook, notes)
  console.log(loaded.text)
  console.log((await loaded.read('templates/notes.md')).text)
}
