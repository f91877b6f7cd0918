import { createHash, randomBytes } from 'node:crypto';

/** A data-plane secret: `secret` goes to the client once, `storedKey` is what server and worker keep. Both hex. */
export function createSecret(): { secret: string; storedKey: string } {
  const bytes = randomBytes(32);
  return { secret: bytes.toString('hex'), storedKey: createHash('sha256').update(bytes).digest('hex') };
}

/** 80 random bits in letters and digits that nobody mixes up. */
export function createAllocationId(): string {
  return `al-${[...randomBytes(16)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('')}`;
}

/** 32 signs, so that a byte's remainder is uniform. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
