export type { Skill, SkillFrontmatter, SkillResource } from './entry.ts'
export { skillLimits, skillsExtension } from './entry.ts'
export {
  type GeneratedSkillDefinition,
  generatedSkill,
  type MakeContent,
  type SkillDefinition,
  type Skills,
  type SkillsOptions,
  type SkillValue,
  skill,
  skills,
} from './skills.ts'
