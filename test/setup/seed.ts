/** The default seed, replaced by JACKFIELD_SEED: every run of the tests makes the same trials. */
const usual = 20_260_728

/** Where the chance of campaigns and properties begins in this process. */
export const seed: number = seedOf(process.env['JACKFIELD_SEED'])

function seedOf(wanted: string | undefined): number {
  if (wanted === undefined || wanted === '') return usual
  if (wanted === 'random') return Math.floor(Math.random() * 2 ** 31)
  if (/^\d{1,10}$/.test(wanted) && Number(wanted) < 2 ** 31) return Number(wanted)
  throw new Error(`JACKFIELD_SEED is "${wanted}". Give a whole number below 2147483648, or "random".`)
}
