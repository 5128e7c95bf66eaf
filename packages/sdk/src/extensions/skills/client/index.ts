export type { Skill, SkillFrontmatter, SkillResource } from '../entry.ts'
export { skillLimits, skillsExtension } from '../entry.ts'
export type { LoadedSkill, LoadOptions, SkillFile } from './skills-client.ts'
export { type SkillsClient, type SkillsClientOptions, skillsClient } from './skills-client.ts'
