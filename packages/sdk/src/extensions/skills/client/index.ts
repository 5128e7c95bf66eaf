export type { Skill, SkillFrontmatter, SkillResource } from '../entry.ts'
export { skillLimits, skillsExtension } from '../names.ts'
export type { LoadedSkill, LoadOptions, SkillFile } from './loaded.ts'
export { type SkillsClient, type SkillsClientOptions, skillsClient } from './skills-client.ts'
