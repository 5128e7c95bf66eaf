import type { Client } from '@jackfield/sdk/client'
import { connect } from '@jackfield/sdk/client'
import { type Skill, skillsClient } from '@jackfield/sdk/client/skills'
import { options, type Play } from './play.ts'

const skills = skillsClient({ onInvalid: (why) => console.error(why) })

/** Scenarios about skills. */
export const skillScenarios: Readonly<Record<string, Play>> = {
  'sep-2640-client-no-prefetch': listed(async () => {}),
  'sep-2640-client-verify-digest': listed(use),
  'sep-2640-client-verify-size': listed(use),
  'sep-2640-client-verify-frontmatter': listed(use),
}

/** Loads a skill and reads a file of it, as far as what comes can be trusted. */
async function use(client: Client, [skill]: Skill[]): Promise<void> {
  if (skill === undefined) throw new Error('The server lists no skill')
  const loaded = await skills.load(client, skill)
  await loaded.read('references/FORMS.md')
}

function listed(play: (client: Client, found: Skill[]) => Promise<void>): Play {
  return async (url) => {
    await using client = await connect(url, { ...options, extensions: [skills] })
    await play(client, await skills.list(client))
  }
}
