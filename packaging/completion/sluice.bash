# Completion of sluice for bash.
_sluice() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local path= word= skip= words= paths= i
    # bash takes "--by=day" for three words.
    if [[ $current == = ]]; then
        current=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $skip ]]; then
            [[ $word == = ]] || skip=
            continue
        fi
        case "$path $word" in
            " serve"|" check"|" test"|" search"|" keys"|" tokens"|" pages"|" usage"|" cache"|" backup"|" restore"|" doctor"|" completion"|" version"|"keys list"|"keys add"|"keys set"|"keys enable"|"keys disable"|"keys remove"|"keys test"|"tokens add"|"tokens list"|"tokens revoke"|"pages add"|"pages list"|"pages show"|"pages update"|"pages archive"|"pages claim"|"pages release"|"pages remove"|"pages import"|"cache purge") path=${path:+$path }$word ;;
            "serve --config"|"serve --data-dir"|"serve --set"|"serve --listen"|"serve --log-level"|"serve --record"|"serve --replay"|"serve --replay-speed"|"serve --replay-faults"|"check --config"|"check --data-dir"|"check --set"|"check --record"|"check --replay"|"check --replay-speed"|"check --replay-faults"|"test --config"|"test --data-dir"|"test --set"|"search --config"|"search --data-dir"|"search --set"|"search -n"|"search --max-results"|"search --lane"|"search --freshness"|"search --country"|"search --providers"|"search --strategy"|"search --server"|"search --token"|"keys list --config"|"keys list --data-dir"|"keys list --set"|"keys add --config"|"keys add --data-dir"|"keys add --set"|"keys add --secret-file"|"keys add --secret-env"|"keys add --label"|"keys add --account"|"keys add --weight"|"keys add --max-in-flight"|"keys add --quota"|"keys add --engine-id"|"keys set --config"|"keys set --data-dir"|"keys set --set"|"keys set --label"|"keys set --account"|"keys set --weight"|"keys set --max-in-flight"|"keys set --quota"|"keys set --engine-id"|"keys enable --config"|"keys enable --data-dir"|"keys enable --set"|"keys disable --config"|"keys disable --data-dir"|"keys disable --set"|"keys remove --config"|"keys remove --data-dir"|"keys remove --set"|"keys test --config"|"keys test --data-dir"|"keys test --set"|"tokens add --config"|"tokens add --data-dir"|"tokens add --set"|"tokens add --label"|"tokens add --scopes"|"tokens add --expires-in"|"tokens add --requests-per-minute"|"tokens add --budget-usd-day"|"tokens add --budget-calls-day"|"tokens add --budget-usd-month"|"tokens add --budget-calls-month"|"tokens add --budget-usd-total"|"tokens add --budget-calls-total"|"tokens list --config"|"tokens list --data-dir"|"tokens list --set"|"tokens revoke --config"|"tokens revoke --data-dir"|"tokens revoke --set"|"pages add --config"|"pages add --data-dir"|"pages add --set"|"pages add --slug"|"pages add --author"|"pages add --body-file"|"pages add --lifecycle"|"pages add --id"|"pages list --config"|"pages list --data-dir"|"pages list --set"|"pages list --limit"|"pages list --offset"|"pages list --sort"|"pages show --config"|"pages show --data-dir"|"pages show --set"|"pages update --config"|"pages update --data-dir"|"pages update --set"|"pages update --title"|"pages update --slug"|"pages update --author"|"pages update --body-file"|"pages update --lifecycle"|"pages archive --config"|"pages archive --data-dir"|"pages archive --set"|"pages claim --config"|"pages claim --data-dir"|"pages claim --set"|"pages release --config"|"pages release --data-dir"|"pages release --set"|"pages remove --config"|"pages remove --data-dir"|"pages remove --set"|"pages import --config"|"pages import --data-dir"|"pages import --set"|"usage --config"|"usage --data-dir"|"usage --set"|"usage --by"|"usage --since"|"usage --until"|"usage --provider"|"usage --token"|"usage --key"|"cache purge --config"|"cache purge --data-dir"|"cache purge --set"|"backup --config"|"backup --data-dir"|"backup --set"|"restore --config"|"restore --data-dir"|"restore --set"|"doctor --config"|"doctor --data-dir"|"doctor --set") skip=1 ;;
        esac
    done
    case "$path $before" in
        "serve --config") paths=1 ;;
        "serve --data-dir") paths=1 ;;
        "serve --set") return ;;
        "serve --listen") return ;;
        "serve --log-level") words='debug info warn error' ;;
        "serve --record") paths=1 ;;
        "serve --replay") paths=1 ;;
        "serve --replay-speed") return ;;
        "serve --replay-faults") paths=1 ;;
        "check --config") paths=1 ;;
        "check --data-dir") paths=1 ;;
        "check --set") return ;;
        "check --record") paths=1 ;;
        "check --replay") paths=1 ;;
        "check --replay-speed") return ;;
        "check --replay-faults") paths=1 ;;
        "test --config") paths=1 ;;
        "test --data-dir") paths=1 ;;
        "test --set") return ;;
        "search --config") paths=1 ;;
        "search --data-dir") paths=1 ;;
        "search --set") return ;;
        "search -n"|"search --max-results") return ;;
        "search --lane") words='fast deep' ;;
        "search --freshness") words='day week month year' ;;
        "search --country") return ;;
        "search --providers") return ;;
        "search --strategy") words='failover merge hedge' ;;
        "search --server") return ;;
        "search --token") return ;;
        "keys list --config") paths=1 ;;
        "keys list --data-dir") paths=1 ;;
        "keys list --set") return ;;
        "keys add --config") paths=1 ;;
        "keys add --data-dir") paths=1 ;;
        "keys add --set") return ;;
        "keys add --secret-file") paths=1 ;;
        "keys add --secret-env") return ;;
        "keys add --label") return ;;
        "keys add --account") return ;;
        "keys add --weight") return ;;
        "keys add --max-in-flight") return ;;
        "keys add --quota") return ;;
        "keys add --engine-id") return ;;
        "keys set --config") paths=1 ;;
        "keys set --data-dir") paths=1 ;;
        "keys set --set") return ;;
        "keys set --label") return ;;
        "keys set --account") return ;;
        "keys set --weight") return ;;
        "keys set --max-in-flight") return ;;
        "keys set --quota") return ;;
        "keys set --engine-id") return ;;
        "keys enable --config") paths=1 ;;
        "keys enable --data-dir") paths=1 ;;
        "keys enable --set") return ;;
        "keys disable --config") paths=1 ;;
        "keys disable --data-dir") paths=1 ;;
        "keys disable --set") return ;;
        "keys remove --config") paths=1 ;;
        "keys remove --data-dir") paths=1 ;;
        "keys remove --set") return ;;
        "keys test --config") paths=1 ;;
        "keys test --data-dir") paths=1 ;;
        "keys test --set") return ;;
        "tokens add --config") paths=1 ;;
        "tokens add --data-dir") paths=1 ;;
        "tokens add --set") return ;;
        "tokens add --label") return ;;
        "tokens add --scopes") return ;;
        "tokens add --expires-in") return ;;
        "tokens add --requests-per-minute") return ;;
        "tokens add --budget-usd-day") return ;;
        "tokens add --budget-calls-day") return ;;
        "tokens add --budget-usd-month") return ;;
        "tokens add --budget-calls-month") return ;;
        "tokens add --budget-usd-total") return ;;
        "tokens add --budget-calls-total") return ;;
        "tokens list --config") paths=1 ;;
        "tokens list --data-dir") paths=1 ;;
        "tokens list --set") return ;;
        "tokens revoke --config") paths=1 ;;
        "tokens revoke --data-dir") paths=1 ;;
        "tokens revoke --set") return ;;
        "pages add --config") paths=1 ;;
        "pages add --data-dir") paths=1 ;;
        "pages add --set") return ;;
        "pages add --slug") return ;;
        "pages add --author") return ;;
        "pages add --body-file") paths=1 ;;
        "pages add --lifecycle") words='active unlisted archived' ;;
        "pages add --id") return ;;
        "pages list --config") paths=1 ;;
        "pages list --data-dir") paths=1 ;;
        "pages list --set") return ;;
        "pages list --limit") return ;;
        "pages list --offset") return ;;
        "pages list --sort") words='newest oldest title' ;;
        "pages show --config") paths=1 ;;
        "pages show --data-dir") paths=1 ;;
        "pages show --set") return ;;
        "pages update --config") paths=1 ;;
        "pages update --data-dir") paths=1 ;;
        "pages update --set") return ;;
        "pages update --title") return ;;
        "pages update --slug") return ;;
        "pages update --author") return ;;
        "pages update --body-file") paths=1 ;;
        "pages update --lifecycle") words='active unlisted archived' ;;
        "pages archive --config") paths=1 ;;
        "pages archive --data-dir") paths=1 ;;
        "pages archive --set") return ;;
        "pages claim --config") paths=1 ;;
        "pages claim --data-dir") paths=1 ;;
        "pages claim --set") return ;;
        "pages release --config") paths=1 ;;
        "pages release --data-dir") paths=1 ;;
        "pages release --set") return ;;
        "pages remove --config") paths=1 ;;
        "pages remove --data-dir") paths=1 ;;
        "pages remove --set") return ;;
        "pages import --config") paths=1 ;;
        "pages import --data-dir") paths=1 ;;
        "pages import --set") return ;;
        "usage --config") paths=1 ;;
        "usage --data-dir") paths=1 ;;
        "usage --set") return ;;
        "usage --by") words='provider token key day' ;;
        "usage --since") return ;;
        "usage --until") return ;;
        "usage --provider") return ;;
        "usage --token") return ;;
        "usage --key") return ;;
        "cache purge --config") paths=1 ;;
        "cache purge --data-dir") paths=1 ;;
        "cache purge --set") return ;;
        "backup --config") paths=1 ;;
        "backup --data-dir") paths=1 ;;
        "backup --set") return ;;
        "restore --config") paths=1 ;;
        "restore --data-dir") paths=1 ;;
        "restore --set") return ;;
        "doctor --config") paths=1 ;;
        "doctor --data-dir") paths=1 ;;
        "doctor --set") return ;;
        *) case "$path" in
            "") words='serve check test search keys tokens pages usage cache backup restore doctor completion version -h --help --version' ;;
            "serve") words='-h --help --config --data-dir --set --listen --log-level --record --replay --replay-speed --replay-faults' ;;
            "check") words='-h --help --config --data-dir --set --record --replay --replay-speed --replay-faults --probe --json' ;;
            "test") words='-h --help --config --data-dir --set --json' paths=1 ;;
            "search") words='-h --help --config --data-dir --set -n --max-results --lane --freshness --country --providers --strategy --answer --trace --explain --json --server --token' ;;
            "keys") words='list add set enable disable remove test -h --help' ;;
            "keys list") words='-h --help --config --data-dir --set --json' ;;
            "keys add") words='-h --help --config --data-dir --set serper tavily exa brave google_cse --secret-file --secret-env --label --account --weight --max-in-flight --quota --engine-id --json' ;;
            "keys set") words='-h --help --config --data-dir --set --label --account --weight --max-in-flight --quota --engine-id --json' ;;
            "keys enable") words='-h --help --config --data-dir --set --json' ;;
            "keys disable") words='-h --help --config --data-dir --set --json' ;;
            "keys remove") words='-h --help --config --data-dir --set --json' ;;
            "keys test") words='-h --help --config --data-dir --set --json' ;;
            "tokens") words='add list revoke -h --help' ;;
            "tokens add") words='-h --help --config --data-dir --set --label --scopes --expires-in --requests-per-minute --budget-usd-day --budget-calls-day --budget-usd-month --budget-calls-month --budget-usd-total --budget-calls-total --json' ;;
            "tokens list") words='-h --help --config --data-dir --set --json' ;;
            "tokens revoke") words='-h --help --config --data-dir --set --json' ;;
            "pages") words='add list show update archive claim release remove import -h --help' ;;
            "pages add") words='-h --help --config --data-dir --set --slug --author --body-file --lifecycle --id --json' ;;
            "pages list") words='-h --help --config --data-dir --set --all --limit --offset --sort --json' ;;
            "pages show") words='-h --help --config --data-dir --set --json' ;;
            "pages update") words='-h --help --config --data-dir --set --title --slug --author --body-file --lifecycle --json' ;;
            "pages archive") words='-h --help --config --data-dir --set --json' ;;
            "pages claim") words='-h --help --config --data-dir --set --pin --json' ;;
            "pages release") words='-h --help --config --data-dir --set --json' ;;
            "pages remove") words='-h --help --config --data-dir --set --json' ;;
            "pages import") words='-h --help --config --data-dir --set --keep-going --json' paths=1 ;;
            "usage") words='-h --help --config --data-dir --set --by --since --until --provider --token --key --json' ;;
            "cache") words='purge -h --help' ;;
            "cache purge") words='-h --help --config --data-dir --set --json' ;;
            "backup") words='-h --help --config --data-dir --set --json' paths=1 ;;
            "restore") words='-h --help --config --data-dir --set --force --json' paths=1 ;;
            "doctor") words='-h --help --config --data-dir --set --alive --json' ;;
            "completion") words='-h --help bash zsh fish' ;;
            "version") words='-h --help --json' ;;
        esac ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    if [[ -n $paths && $current != -* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
    fi
}
complete -F _sluice sluice
