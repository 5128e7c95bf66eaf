import { fileURLToPath } from 'node:url'
import { defineServer } from '@jackfield/sdk'
import { generatedSkill, skills } from '@jackfield/sdk/extensions/skills'
import { skillsIn } from '@jackfield/sdk/extensions/skills/node'
import { serveStdio } from '@jackfield/sdk/stdio'

const today = generatedSkill({
  frontmatter: { name: 'on-call', description: 'Whom to wake when something breaks' },
  body: () => `As of ${new Date().toISOString()}: the team of the week.\n`,
})
const folder = fileURLToPath(new URL('skills', import.meta.url))

serveStdio(
  defineServer({
    name: 'handbook',
    version: '1.0.0',
    extensions: [skills([...(await skillsIn(folder)), today])],
  }),
)
