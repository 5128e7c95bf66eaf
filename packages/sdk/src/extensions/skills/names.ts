/** The identifier of this extension. */
export const skillsExtension = 'io.modelcontextprotocol/skills'

/** What every host takes of one skill; a server gives no more. */
export const skillLimits = {
  /** Files of one skill, `SKILL.md` among them. */
  files: 512,
  /** Bytes of all files of one skill. */
  bytes: 16_777_216,
} as const

/** The file every skill has at its root. */
export const manifestName = 'SKILL.md'
