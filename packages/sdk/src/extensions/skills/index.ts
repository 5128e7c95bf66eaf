export type { Skill, SkillFrontmatter, SkillResource } from './entry.ts'
export { skillLimits, skillsExtension } from './names.ts'
export {
  type GeneratedSkillDefinition,
  generatedSkill,
  type MakeContent,
  type SkillDefinition,
  type SkillValue,
  skill,
} from './skill.ts'
export { type Skills, type SkillsOptions, skills } from './skills.ts'
