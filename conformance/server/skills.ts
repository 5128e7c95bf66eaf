import { generatedSkill, skill } from '@jackfield/sdk/extensions/skills'

const pdf = skill({
  text: `---
name: pdf-processing
description: Extract, fill and assemble PDF documents
license: Apache-2.0
metadata:
  version: 2.1.0
---

# PDF processing

Read [the forms](references/FORMS.md) first, then pick one of \`templates/\`.
`,
  files: {
    'references/FORMS.md': '# Forms\n\nName each field once.\n',
    'templates/invoice.md': '# Invoice\n',
    'templates/regional/eu-invoice.md': '# Invoice, EU\n',
    'assets/stamp.bin': new Uint8Array([0, 1, 2, 253, 254, 255]),
  },
})

const refunds = skill({
  under: 'acme/billing',
  text: `---
name: refunds
description: Process refund requests as the company's policy says
---

Ask for the order number.
`,
})

const daily = generatedSkill({
  under: 'reports',
  frontmatter: { name: 'daily', description: "Assemble today's report from live data" },
  body: () => `It is ${new Date().toISOString()}.\n`,
})

/** Skills of all kinds: with files and folders, in a path, and generated. */
export const skillValues = [pdf, refunds, daily]
