import { defineServer, type Server } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { type SkillsClient, skillsClient } from '@jackfield/sdk/client/skills'
import { type SkillsOptions, type SkillValue, skill, skills } from '@jackfield/sdk/extensions/skills'
import { onTestFinished } from 'vitest'

export const pdfText = `---
name: pdf-processing
description: Extract, fill and assemble PDF documents
license: Apache-2.0
metadata:
  version: 2.1.0
---

# PDF processing
`

export const stamp = new Uint8Array([0, 1, 2, 253, 254, 255])

export const pdf = skill({
  text: pdfText,
  files: {
    'references/FORMS.md': '# Forms\n',
    'templates/invoice.md': '# Invoice\n',
    'templates/regional/eu invoice.md': '\uFEFF# Invoice, EU ü\n',
    'assets/stamp.bin': stamp,
  },
})

export const refunds = skill({ under: 'acme/billing', text: textOf('refunds') })

/** A `SKILL.md` with nothing but what it must have. */
export function textOf(name: string, more = ''): string {
  return `---\nname: ${name}\ndescription: What ${name} does\n${more}---\nDo it.\n`
}

export interface Served {
  readonly server: Server
  readonly client: Client
  readonly skills: SkillsClient
}

/** A server with these skills, and a client with the skills extension. */
export async function served(
  values: readonly SkillValue[],
  options: SkillsOptions = {},
  connecting: ConnectOptions = {},
): Promise<Served> {
  return connectWithSkills(
    defineServer({ name: 'docs', version: '1.0.0', extensions: [skills(values, options)] }),
    connecting,
  )
}

export async function connectWithSkills(server: Server, connecting: ConnectOptions = {}): Promise<Served> {
  const skills = skillsClient()
  const client = await connect(server, { extensions: [skills], ...connecting })
  onTestFinished(() => client.close())
  return { server, client, skills }
}
