// The product's version, from package.json.
import manifest from '../../package.json' with { type: 'json' };

export const version: string = manifest.version;
