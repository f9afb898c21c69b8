# bash completion of gpuwitness: verbs, options and their values as `--help` tells them.

_gpuwitness_options() # VERB: its options, one a line, as --help writes them
{
    gpuwitness "$1" --help 2>/dev/null |
        sed -n 's/^  \(    \|-., \)\(--[a-z][^ ]*\).*/\2/p'
}

_gpuwitness()
{
    local line=${COMP_LINE:0:COMP_POINT} verb word options
    local -a words
    read -ra words <<<"$line"
    case $line in *[[:space:]]) words+=("") ;; esac
    word=${words[${#words[@]} - 1]} verb=${words[1]-}
    COMPREPLY=()
    if [ ${#words[@]} -le 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(gpuwitness --help 2>/dev/null |
            sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p') --help --version" -- "$word")
        return
    fi
    if [[ $verb = record || $verb = doctor ]] && [[ " ${words[*]:0:${#words[@]} - 1} " = *" -- "* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
        return
    fi
    options=$(_gpuwitness_options "$verb")
    case $word in
        --*=*)
            local values
            values=$(sed -n "s/^${word%%=*}=\([a-z][a-z|]*|[a-z|]*\)\$/\1/p" <<<"$options")
            if [ -n "$values" ]; then
                mapfile -t COMPREPLY < <(compgen -W "${values//|/ }" -- "${word#*=}")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "${word#*=}")
            fi
            ;;
        -*)
            mapfile -t COMPREPLY < <(compgen -W "$(sed 's/\[=.*//; s/=.*/=/' <<<"$options")" -- "$word")
            if [ ${#COMPREPLY[@]} -eq 1 ] && [[ ${COMPREPLY[0]} = *= ]]; then compopt -o nospace 2>/dev/null; fi
            ;;
        *)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            ;;
    esac
}

complete -o filenames -F _gpuwitness gpuwitness
