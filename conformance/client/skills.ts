import type { Client } from '@jackfield/sdk/client'
import { connect } from '@jackfield/sdk/client'
import { type Skill, skillsClient } from '@jackfield/sdk/client/skills'
import { options, type ScenarioClient } from './scenario.ts'

const skills = skillsClient({ onInvalid: (reason) => console.error(reason) })

/** The clients of the skill scenarios. */
export const skillScenarios: Readonly<Record<string, ScenarioClient>> = {
  'sep-2640-client-no-prefetch': listed(async () => {}),
  'sep-2640-client-verify-digest': listed(loadFirst),
  'sep-2640-client-verify-size': listed(loadFirst),
  'sep-2640-client-verify-frontmatter': listed(loadFirst),
}

/** Loads the first skill and reads a file of it, both with verification. */
async function loadFirst(client: Client, [skill]: Skill[]): Promise<void> {
  if (skill === undefined) throw new Error('The server lists no skill')
  const loaded = await skills.load(client, skill)
  await loaded.read('references/FORMS.md')
}

function listed(run: (client: Client, found: Skill[]) => Promise<void>): ScenarioClient {
  return async (url) => {
    await using client = await connect(url, { ...options, extensions: [skills] })
    await run(client, await skills.list(client))
  }
}
